#compdef planc
# Completion of planc's command lines in zsh: planc itself is asked what may stand at the cursor.

_planc() {
  local answer program=${(Q)words[1]}
  local -a ends goes_on
  local -a before=("${(@Q)words[2,CURRENT-1]}")
  while IFS= read -r answer; do
    case $answer in
      (:plans) [[ $PREFIX == --*=* ]] && compset -P '*='; _files -g '*.plan(-.)' ;;
      (:folders) [[ $PREFIX == --*=* ]] && compset -P '*='; _files -/ ;;
      (:files) [[ $PREFIX == --*=* ]] && compset -P '*='; _files ;;
      (*)
        local word=${${answer%%$'\t'*}//:/\\:} text=
        [[ $answer == *$'\t'* ]] && text=":${answer#*$'\t'}"
        if [[ $word == *[=.] ]]; then
          goes_on+=("$word$text")
        else
          ends+=("$word$text")
        fi
        ;;
    esac
  done < <(${~program} completion zsh --words $before "${(Q)PREFIX}" 2>/dev/null)
  (( $#ends )) && _describe -t words 'planc' ends
  (( $#goes_on )) && _describe -t words 'planc' goes_on -S ''
}

if [[ $funcstack[1] == _planc ]]; then
  _planc "$@"
else
  compdef _planc planc
fi

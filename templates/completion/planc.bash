# Completion of planc's command lines in bash: planc itself is asked what may stand at the cursor.

_planc() {
  local program=${COMP_WORDS[0]/#\~/$HOME} word=${COMP_WORDS[COMP_CWORD]} answer path prefix=
  local -a words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  if [[ $word == '=' ]]; then
    word=
  elif [[ $word == --*=* ]]; then # `=` cuts no words in this shell
    prefix=${word%%=*}= word=${word#*=}
  fi
  COMPREPLY=()
  while IFS= read -r answer; do
    case $answer in
      :plans | :folders | :files)
        compopt -o filenames -o default 2>/dev/null
        while IFS= read -r path; do
          COMPREPLY+=("$prefix$path")
        done < <(
          compgen -d -- "$word"
          case $answer in
            :plans) compgen -f -X '!*.plan' -- "$word" ;;
            :files) compgen -f -- "$word" ;;
          esac | while IFS= read -r path; do [[ -d $path ]] || printf '%s\n' "$path"; done
        )
        ;;
      *)
        COMPREPLY+=("$answer")
        if [[ $answer == *[=.,] ]]; then
          compopt -o nospace 2>/dev/null
        fi
        ;;
    esac
  done < <("$program" completion bash --words "${words[@]}" 2>/dev/null)
}

complete -F _planc planc

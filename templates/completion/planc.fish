# Completion of planc's command lines in fish: planc itself is asked what may stand at the cursor.

function __planc_answers
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for answer in ($words[1] completion fish --words $words[2..-1] "$current" 2>/dev/null)
        switch $answer
            case :plans
                __planc_paths "$current" '\.plan$|/$'
            case :folders
                __planc_paths "$current" '/$'
            case :files
                __planc_paths "$current" ''
            case '*'
                echo $answer
        end
    end
end

# Paths that match, as fish completes the argument of a command that it does not know; `--option=` stays in front.
function __planc_paths
    set -l option (string match -r -- '^--[^=]*=' $argv[1])
    set -l path (string replace -r -- '^--[^=]*=' '' $argv[1])
    for found in (complete -C "__planc_no_command $path" | string replace -r '\t.*' '' | string match -r -- "^.*(?:$argv[2])")
        echo "$option$found"
    end
end

complete -c planc -f -a '(__planc_answers)'


# Prints the words from the program on in a command line of unspin, those before the cursor only. Fails if there is no program yet.
function __unspin_program_words
    set -l words (commandline -opc)
    set -e words[1]
    set -l values
    switch "$words[1]"
%COMMANDS%
        case '*'
            return 1
    end
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case --
                set -e words[1]
                break
            case '-*'
                if contains -- $words[1] $values
                    set -e words[1]
                end
                set -e words[1]
            case '*'
                break
        end
    end
    printf '%s\n' $words
    set -q words[1]
end

# Whether the word at the cursor is the program itself.
function __unspin_needs_program
    set -l values
    set -l words (commandline -opc)
    set -l last $words[-1]
    set -q words[2]; and not string match -q -- '-*' (commandline -ct); or return 1
    switch "$words[2]"
%COMMANDS%
        case '*'
            return 1
    end
    not contains -- $last $values; and not __unspin_program_words >/dev/null
end

# Completes the program's own command line. Workloads are commands of unspin.
function __unspin_complete_program
    set -l words (__unspin_program_words)
    contains -- $words[1] %WORKLOADS%; and set -p words unspin
    complete --do-complete (string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c unspin -n __unspin_needs_program -a '%WORKLOADS%' -d Workload
complete -c unspin -n __unspin_needs_program -a '(__fish_complete_command)'
complete -c unspin -n '__unspin_program_words >/dev/null' -f -a '(__unspin_complete_program)'

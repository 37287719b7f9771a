
# Sets `at` to the position of the program in a command line of unspin, if the word that is completed is the program or stands behind it.
_unspin_find_program() {
    local values word
    case ${COMP_WORDS[1]-} in
%COMMANDS%
        *) return 1 ;;
    esac
    for ((at = 2; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        case $word in
            # bash has split the value of an option here.
            [=:@]*) ((at++)) ;;
            --)
                ((at++))
                return 0
                ;;
            -*) [[ " $values " != *" $word "* || ${COMP_WORDS[at + 1]-} == = ]] || ((at++)) ;;
            *) return 0 ;;
        esac
    done
    ((at == COMP_CWORD)) && [[ ${COMP_WORDS[at]} != [-=:@]* ]]
}

_unspin_with_program() {
    local at
    _unspin_find_program || { _unspin "$@"; return; }
    local program=${COMP_WORDS[at]} workloads='%WORKLOADS%' IFS=$' \t\n'
    if ((at == COMP_CWORD)); then
        IFS=$'\n'
        COMPREPLY=($(compgen -W "${workloads// /$'\n'}" -- "$2"; compgen -f -- "$2"))
        # All programs of PATH, unless that would be a list of thousands.
        [[ -z $2 || $2 == */* ]] || COMPREPLY+=($(compgen -c -- "$2"))
        compopt -o filenames 2>/dev/null
    elif [[ " $workloads " == *" $program "* ]]; then
        COMP_WORDS=("${COMP_WORDS[0]}" "${COMP_WORDS[@]:at}")
        ((COMP_CWORD -= at - 1))
        _unspin "$@"
    elif declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$at"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$at"
    else
        # bash completes a file.
        COMPREPLY=()
    fi
}

complete -F _unspin_with_program -o bashdefault -o default unspin

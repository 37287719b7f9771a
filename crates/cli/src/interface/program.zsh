# The program that unspin starts, as the word that is completed.
_unspin_program() {
    _alternative \
        'workloads:workload:(%WORKLOADS%)' \
        'commands:program:_command_names -e' \
        'files:program:_files'
}

# The program's own command line. Workloads are commands of unspin.
_unspin_program_arguments() {
    local -a workloads=(%WORKLOADS%)
    if (( CURRENT == 1 )); then
        _unspin_program
    elif (( $workloads[(Ie)$words[1]] )); then
        words=(unspin "$words[@]")
        (( CURRENT++ ))
        _unspin
    else
        _normal
    fi
}


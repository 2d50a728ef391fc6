# Completion of gpusolve-solve for bash.
_gpusolve_solve() {
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} choices=
    local methods="richardson cg fgmres automatic" # --refine takes one behind = alone
    if [[ $word == = ]]; then
        word=
        [[ $option != --refine ]] || choices=$methods
    elif [[ $option == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
        [[ $option != --refine ]] || choices=$methods
    fi
    case $option in
    --system) choices="A LDLt LD DLt L Lt D P Pt" ;;
    --backend) choices="auto host cuda" ;;
    --storage) choices="double single" ;;
    --ordering) choices="metis nesdis amd natural best" ;;
    --repeat | --threads) return ;;
    esac
    if [[ -z $choices && $word == -* ]]; then
        choices="--output --system --refine --storage --repeat --explain --save-residuals --plot --backend --threads
            --ordering --quiet --help --version"
    fi
    if [[ -n $choices ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -F _gpusolve_solve gpusolve-solve

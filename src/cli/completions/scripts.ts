import type { SHELLS } from '../commands/general.ts'

export type Shell = (typeof SHELLS)[number]

/** A script that asks the program for completions each time. */
export function renderScript(shell: Shell, program: string): string {
  const own = `_${program.replaceAll('-', '_')}`
  return { bash: renderBash, zsh: renderZsh, fish: renderFish }[shell](program, own)
}

function renderBash(program: string, own: string): string {
  return `${own}() {
  local line=\${COMP_LINE-} last=\${COMP_WORDS[COMP_CWORD]} paths= typed=() n=0 i word before
  COMPREPLY=()
  line=\${line#*"\${COMP_WORDS[0]}"}
  # Bash splits words at = and :, so join the parts that are adjacent on the line.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    [[ $i -gt 1 && $line == [![:space:]]* ]] || n=$((n + 1))
    typed[n]=\${typed[n]-}$word
    line=\${line#*"$word"}
  done
  [[ $last == *[!=:]* ]] || last=
  before=\${typed[n]%"$last"}
  while IFS= read -r word; do
    if [[ -z $paths ]]; then paths=$word; else COMPREPLY+=("\${word#"$before"}"); fi
  done < <(${program} completions bash -- "\${typed[@]}" 2>/dev/null </dev/null)
  [[ \${#COMPREPLY[@]} -eq 0 ]] || return 0
  case $paths in
    files) i=-f ;;
    directories) i=-d ;;
    *) return 0 ;;
  esac
  compopt -o filenames 2>/dev/null
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(compgen "$i" -- "\${2-$last}")
}
complete -o nosort -F ${own} ${program} 2>/dev/null || complete -F ${own} ${program}`
}

function renderZsh(program: string, own: string): string {
  return `#compdef ${program}
${own}() {
  local -a lines values shown
  local line
  lines=("\${(@f)$(${program} completions zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null </dev/null)}")
  for line in "\${(@)lines[2,-1]}"; do
    values+=("\${line%%$'\\t'*}")
    shown+=("\${\${line/$'\\t'/  -- }%  -- }")
  done
  (( \${#values} )) && compadd -V ${program} -l -d shown -a -- values
  [[ $lines[1] == files || $lines[1] == directories ]] || return 0
  [[ $PREFIX == --*=* ]] && compset -P '*='
  if [[ $lines[1] == directories ]]; then _files -/; else _files; fi
}
if [[ \${funcstack[1]-} == _${program} ]]; then
  ${own} "$@"
else
  (( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit }
  compdef ${own} ${program}
fi`
}

function renderFish(program: string, own: string): string {
  return `function ${own}
    set -l current (commandline -ct)
    set -l before (string match -r -- '^--[^=]+=' $current)
    set -l words (commandline -opc)
    set -l lines (${program} completions fish -- $words[2..-1] "$current" 2>/dev/null </dev/null)
    set -l path (string replace -- "$before" '' "$current")
    if set -q lines[2]
        printf '%s\\n' $lines[2..-1]
    end
    switch "$lines[1]"
        case files
            string replace -r -- '^' "$before" (__fish_complete_path "$path")
        case directories
            string replace -r -- '^' "$before" (__fish_complete_directories "$path" '')
    end
end
complete -c ${program} -k -f -a '(${own})'`
}

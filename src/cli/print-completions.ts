import { COMMON_OPTIONS, UsageError, type Command, type Input } from './command.ts'
import { SHELLS } from './commands/completions.ts'
import { runCommand } from './commands/run.ts'
import { VERBS } from './verbs.ts'

/** The verb `completions`: a script that asks `forkhestra list --plain` for the names of chains. */
export function printCompletions(input: Input): number {
  const [shell, ...more] = input.positionals
  const known = SHELLS.find((name) => name === shell)
  if (known === undefined || more.length > 0) {
    throw new UsageError(
      shell === undefined ? 'Which shell?' : `No completions for '${[shell, ...more].join(' ')}'.`,
      `Write one of: ${SHELLS.map((name) => `forkhestra completions ${name}`).join(', ')}`,
    )
  }
  console.log({ bash: renderBash, zsh: renderZsh, fish: renderFish }[known]())
  return 0
}

/** Prints the names of the chains, one a line. */
const CHAIN_NAMES = `list --plain 2>/dev/null | awk -F '\\t' '$1 == "chain" { print $2 }'`

const options = (command: Command) => Object.entries({ ...command.options, ...COMMON_OPTIONS })

function renderBash(): string {
  const words = (command: Command) =>
    [...options(command).map(([name]) => `--${name}`), ...(command.words ?? [])].join(' ')
  const verbs = Object.entries(VERBS)
  return `_forkhestra_pick() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    [[ $word == "$1"* ]] && COMPREPLY+=("$(printf %q "$word")")
  done
}
_forkhestra() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words place=() i
  [ "$current" = = ] && current=
  [ "$previous" = = ] && previous=\${COMP_WORDS[COMP_CWORD-2]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      --) return ;;
      --cwd|--config) place+=("\${COMP_WORDS[i]}" "\${COMP_WORDS[i+1]}") ;;
    esac
  done
  case $previous in
    --chain) _forkhestra_pick "$current" < <(forkhestra ${CHAIN_NAMES.replace('list', 'list "${place[@]}"')}); return ;;
    --cwd) COMPREPLY=($(compgen -d -- "$current")); return ;;
    --config|--prompt-file) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  case \${COMP_WORDS[1]} in
${verbs.map(([verb, command]) => `    ${verb}) words='${words(command)}' ;;`).join('\n')}
    *) words='${words(runCommand)}' ;;
  esac
  [ "$COMP_CWORD" = 1 ] && words="$words ${verbs.map(([verb]) => verb).join(' ')}"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _forkhestra forkhestra`
}

/** zsh takes bash's completions. */
function renderZsh(): string {
  return `autoload -Uz compinit bashcompinit && compinit && bashcompinit\n${renderBash()}`
}

function renderFish(): string {
  const quote = (text: string) => `'${text.replaceAll("'", String.raw`\'`)}'`
  const others = Object.keys(VERBS).filter((verb) => verb !== 'run')
  const lines = Object.entries(VERBS).flatMap(([verb, command]) => {
    const where =
      verb === 'run'
        ? `not __fish_seen_subcommand_from ${others.join(' ')}`
        : `__fish_seen_subcommand_from ${verb}`
    const line = `complete -c forkhestra -n ${quote(where)}`
    return [
      `complete -c forkhestra -n __fish_use_subcommand -a ${verb} -d ${quote(command.summary)}`,
      ...(command.words ?? []).map((word) => `${line} -a ${word}`),
      ...options(command).map(([name, { short, value, help }]) => {
        const letter = short === undefined ? '' : ` -s ${short}`
        const names =
          name === 'chain'
            ? ` -x -a ${quote(`(forkhestra ${CHAIN_NAMES})`)}`
            : value === undefined
              ? ''
              : ' -r'
        return `${line} -l ${name}${letter}${names} -d ${quote(help)}`
      }),
    ]
  })
  return lines.join('\n')
}

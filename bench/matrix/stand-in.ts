import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Session } from './session.ts'

/**
 * A stand-in for `claude`: records the time of each call, prints the files next to it and exits. It
 * ignores all options but the output format. It reads stdin, so that a tool that sends a prompt does
 * not fail with a closed pipe, but does not wait for its end. It writes a file, because some tools
 * reject an agent that changes nothing.
 */
const PROGRAM = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
case "$1" in
  --version | -v) echo '2.1.0 (Claude Code)'; exit 0 ;;
esac
date +%s%3N >> "$here/calls"
[ -t 0 ] || timeout 1 cat > /dev/null
echo work >> work.txt
format=text
for word in "$@"; do
  case "$word" in
    stream-json | --output-format=stream-json) format=stream-json ;;
  esac
done
cat "$here/said.$format"
exit "$(cat "$here/said.exit")"
`

/** The program and its output, in a folder of the project. */
export function standInFiles(session: Session, folder = '.'): Record<string, string> {
  const lines = session.events.map((event) => `${JSON.stringify(event)}\n`)
  return {
    [join(folder, 'claude')]: PROGRAM,
    [join(folder, 'said.text')]: `${session.text}\n`,
    [join(folder, 'said.stream-json')]: lines.join(''),
    [join(folder, 'said.exit')]: `${session.exit}\n`,
  }
}

/** When it was called, in ms since 1970. */
export function callsIn(folder: string): number[] {
  const path = join(folder, 'calls')
  if (!existsSync(path)) return []
  // The last line may be incomplete.
  return readFileSync(path, 'utf8').split('\n').slice(0, -1).map(Number)
}

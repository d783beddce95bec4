export interface RunningEditor {
  readonly exited: Promise<number>
  stop(): void
}

const PLAIN_WORDS = /^[\w./+:@%-]+( +[\w./+=:@%-]+)*$/
const GRACE_MS = 2000

/** Starts `$EDITOR`, which may be a program with options or a shell command. */
export function startEditor(editor: string, path: string): RunningEditor {
  const words = PLAIN_WORDS.test(editor.trim())
    ? editor.trim().split(/ +/)
    : ['sh', '-c', `${editor} "$1"`, 'sh']
  const child = Bun.spawn([...words, path], { stdio: ['inherit', 'inherit', 'inherit'] })
  const { promise: givenUp, resolve: giveUp } = Promise.withResolvers<number>()
  return {
    exited: Promise.race([child.exited, givenUp]),
    stop() {
      child.kill('SIGTERM')
      // Do not wait longer for an editor that ignores the signal.
      setTimeout(() => giveUp(1), GRACE_MS).unref()
    },
  }
}

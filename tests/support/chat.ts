import { FORKHESTRA, environment, type Finished } from './forkhestra.ts'
import type { NativeStage } from './native.ts'
import { Pty } from './pty.ts'

type Stage = Pick<NativeStage, 'cwd' | 'model'>

interface Options {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly columns?: number
  readonly rows?: number
}

/** A chat with the agent `nat` of a stage, on a terminal. */
export function openChat({ cwd, model }: Stage, options: Options = {}): Pty {
  const { args = ['nat'], env = {}, ...size } = options
  return new Pty([FORKHESTRA, 'chat', ...args], { cwd, env: { ...model.env, ...env }, ...size })
}

/** A chat with piped input. */
export async function pipe(
  { cwd, model }: Stage,
  stdin: string,
  ...args: readonly string[]
): Promise<Finished> {
  const child = Bun.spawn([FORKHESTRA, 'chat', ...args], {
    cwd,
    env: environment({ cwd, env: model.env }),
    stdin: Buffer.from(stdin),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

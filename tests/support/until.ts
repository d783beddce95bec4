import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Waits for what no event tells; a test's own time limit ends it. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5)
}

/** Waits until a file is there, as the sign of a process. */
export async function fileIn(cwd: string, name: string): Promise<void> {
  await until(() => existsSync(join(cwd, name)))
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Polls for something that no event reports; the test's time limit ends it. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5)
}

/** Waits until a process has created a file. */
export async function fileIn(cwd: string, name: string): Promise<void> {
  await until(() => existsSync(join(cwd, name)))
}

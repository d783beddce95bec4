import { isAbsolute, join } from 'node:path'
import type { Environment } from './environment.ts'

/** The folder for data of the user that belongs to no project; undefined without HOME and XDG_STATE_HOME. */
export function stateFolder(env: Environment): string | undefined {
  const { XDG_STATE_HOME: state = '', HOME: home = '' } = env
  if (isAbsolute(state)) return join(state, 'forkhestra')
  return isAbsolute(home) ? join(home, '.local/state/forkhestra') : undefined
}

import { isAbsolute, join } from 'node:path'

/** The folder for data of the user that belongs to no project; undefined without HOME and XDG_STATE_HOME. */
export function stateFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { XDG_STATE_HOME: state = '', HOME: home = '' } = env
  if (isAbsolute(state)) return join(state, 'forkhestra')
  return isAbsolute(home) ? join(home, '.local/state/forkhestra') : undefined
}

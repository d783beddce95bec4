import { isAbsolute, join } from 'node:path'

/** Where this program keeps what belongs to the user and not to a project; undefined where nobody says where. */
export function stateFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { XDG_STATE_HOME: state = '', HOME: home = '' } = env
  if (isAbsolute(state)) return join(state, 'forkhestra')
  return isAbsolute(home) ? join(home, '.local/state/forkhestra') : undefined
}

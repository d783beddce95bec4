import { listCommand } from '../commands/list.ts'
import { programOf } from '../run-verb.ts'

export const tasksMain = programOf('list', listCommand)

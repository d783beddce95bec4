import { viewCommand } from '../commands/view.ts'
import { programOf } from '../run-verb.ts'

export const tasksMain = programOf('view', viewCommand)

import { createCommand } from '../commands/create.ts'
import { programOf } from '../run-verb.ts'

export const tasksMain = programOf('create', createCommand)

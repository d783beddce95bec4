import { editCommand } from '../commands/edit.ts'
import { programOf } from '../run-verb.ts'

export const tasksMain = programOf('edit', editCommand)

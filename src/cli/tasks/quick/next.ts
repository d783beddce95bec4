import { nextCommand } from '../commands/next.ts'
import { programOf } from '../run-verb.ts'

export const tasksMain = programOf('next', nextCommand)

import { claimCommand } from '../commands/claim.ts'
import { programOf } from '../run-verb.ts'

export const tasksMain = programOf('claim', claimCommand)

import type { Command } from '../../command.ts'
import { TASK_OPTIONS } from '../database.ts'

export const mcpCommand: Command = {
  summary: '',
  usage: [],
  examples: [],
  options: TASK_OPTIONS,
  run: async () => 0,
}

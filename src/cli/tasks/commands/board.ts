import type { Command } from '../../command.ts'
import { TASK_OPTIONS } from '../database.ts'

export const boardCommand: Command = {
  summary: '',
  usage: [],
  examples: [],
  options: TASK_OPTIONS,
  run: async () => 0,
}

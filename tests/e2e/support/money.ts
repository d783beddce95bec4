import { commands, type JsonResult } from './stage.ts'

/** 60 cents of the model that agents have by default. */
export const DEAR = { input: 200_000, output: 20_000 }

/** What each iteration was allowed to spend. */
export function budgets(result: JsonResult): (string | undefined)[] {
  return commands(result).map((argv) => argv[argv.indexOf('--max-budget-usd') + 1])
}

import { takenWords } from '../../tasks/claims/taken-words.ts'
import type { Claim } from '../../tasks/store/state.ts'

export function takenLine(id: string, claim: Claim): string {
  return `forge-tasks: ${takenWords(id, claim)}`
}

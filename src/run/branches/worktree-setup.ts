import type { StepNode } from '../../chain/plan/plan.ts'
import type { End } from '../../records/events/schema.ts'
import type { Context } from '../context.ts'
import type { GitIn } from '../merge/move-branch.ts'
import { runCommand } from '../policy/command.ts'
import { copyInto, missingIgnored, type Site } from './branch-worktree.ts'
import type { OpenBranch } from './open-branch.ts'

/** How many missing files are named. */
const MOST_NAMED = 10

/** Prepares new worktrees for their agents. */
export class WorktreeSetup {
  readonly #context: Context
  /** Notes that were already shown, once for all worktrees. */
  readonly #warned = new Set<string>()
  #isChecked = false

  constructor(context: Context) {
    this.#context = context
  }

  /** Copies files and runs the setup command; returns the end of the branch if that fails. */
  async run(
    branch: OpenBranch,
    step: StepNode,
    site: Site,
    gitIn: GitIn,
  ): Promise<End | undefined> {
    const { path } = branch.tree
    const { setup, copy = [] } = branch.plan
    for (const problem of copyInto(path, site, copy)) this.#warn(`cannot copy ${problem}`)
    if (setup !== undefined) {
      const request = { role: 'setup' as const, command: setup, step: branch.place(step) }
      const { result, detail } = await runCommand(request, this.#context)
      if (result === 'stopped') return { reason: 'interrupted' }
      if (result !== 'ok') return { reason: 'error', detail: `setup failed: ${setup}: ${detail}` }
    }
    if (this.#isChecked) return undefined
    this.#isChecked = true
    const missing = await missingIgnored(path, site, gitIn)
    const named = missing.slice(0, MOST_NAMED).join(', ')
    if (missing.length > 0)
      this.#warn(
        `worktrees do not have these ignored files: ${named}. If agents need them, use --setup (for example "npm ci") or --copy`,
      )
    return undefined
  }

  #warn(text: string): void {
    if (this.#warned.has(text)) return
    this.#warned.add(text)
    this.#context.ports.emit({ type: 'warning', text })
  }
}

import agents from './templates/AGENTS.md' with { type: 'text' }
import plan from './templates/PLAN.md' with { type: 'text' }
import specs from './templates/SPECS.md' with { type: 'text' }

/** Templates of the specs, by path. Separate from the other files, because every plan needs them. */
export const STARTER_SPECS: Readonly<Record<string, string>> = {
  'forge/orch/specs/PLAN.md': plan,
  'forge/orch/specs/SPECS.md': specs,
  'forge/orch/specs/AGENTS.md': agents,
}

import schema from '../../schema/chains.schema.json'
import supervisor from './personas/supervisor.md' with { type: 'text' }
import taskBuilder from './personas/task-builder.md' with { type: 'text' }
import worker from './personas/worker.md' with { type: 'text' }
import agentsSection from './templates/agents-section.md' with { type: 'text' }
import chains from './templates/chains.txt' with { type: 'text' }

/** The configuration that a project begins with, by path. */
export const STARTER_CONFIGURATION: Readonly<Record<string, string>> = {
  'forge/orch/chains.json': chains,
  // A copy beside it: editors find it without a network, and it fits this version.
  'forge/orch/chains.schema.json': `${JSON.stringify(schema, null, 2)}\n`,
}

/** How an agent may be told to behave, with `/read`, by path. */
export const STARTER_PERSONAS: Readonly<Record<string, string>> = {
  '.agents/personas/worker.md': worker,
  '.agents/personas/task-builder.md': taskBuilder,
  '.agents/personas/supervisor.md': supervisor,
}

/** What a project's AGENTS.md or CLAUDE.md may tell coding agents about forkhestra. */
export const AGENTS_SECTION: string = agentsSection

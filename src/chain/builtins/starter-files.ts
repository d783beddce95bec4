import schema from '../../../schema/chains.schema.json'
import supervisor from './personas/supervisor.md' with { type: 'text' }
import taskBuilder from './personas/task-builder.md' with { type: 'text' }
import worker from './personas/worker.md' with { type: 'text' }
import agentsSection from './templates/agents-section.md' with { type: 'text' }
import chains from './templates/chains.txt' with { type: 'text' }

/** The initial configuration of a project, by path. */
export const STARTER_CONFIGURATION: Readonly<Record<string, string>> = {
  'forge/orch/chains.json': chains,
  // A local copy works offline and matches this version.
  'forge/orch/chains.schema.json': `${JSON.stringify(schema, null, 2)}\n`,
}

/** Instructions for agents, to be included with `/read`, by path. */
export const STARTER_PERSONAS: Readonly<Record<string, string>> = {
  '.agents/personas/worker.md': worker,
  '.agents/personas/task-builder.md': taskBuilder,
  '.agents/personas/supervisor.md': supervisor,
}

/** A section about forkhestra for the AGENTS.md or CLAUDE.md of a project. */
export const AGENTS_SECTION: string = agentsSection

/** An agent that is nothing but a system prompt. */
export const WRITER = { systemPromptText: 'You write.' }

/** A chain `w` of one agent, with so many iterations, or once. */
export function writes(agent: object = {}, step: object = { iterations: 3 }) {
  return {
    agents: { writer: { ...WRITER, ...agent } },
    chains: { w: { steps: [{ agent: 'writer', prompt: 'Write.', ...step }] } },
  }
}

/** A call of the tool that runs commands. */
export function bash(command: string) {
  return { name: 'Bash', input: { command, description: 'A command' } }
}

export const DONE = { text: 'All is written.\nORCHESTRA_COMPLETE' }

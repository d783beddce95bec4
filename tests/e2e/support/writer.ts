/** A chain `w` of one agent that is nothing but a system prompt. */
export function writes(agent: object = {}, step: object = { iterations: 3 }) {
  return {
    agents: { writer: { systemPromptText: 'You write.', ...agent } },
    chains: { w: { steps: [{ agent: 'writer', prompt: 'Write.', ...step }] } },
  }
}

/** A call of the tool that runs commands. */
export function bash(command: string) {
  return { name: 'Bash', input: { command, description: 'A command' } }
}

export const DONE = { text: 'All is written.\nORCHESTRA_COMPLETE' }

/** A command that never ends; `claude` refuses a mere sleep. */
export const FOREVER = 'tail -s 9999 -f /dev/null'

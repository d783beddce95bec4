/** What the stand-in prints when it is called, in the two formats of `claude`, and how it ends. */
export interface Session {
  readonly text: string
  readonly events: readonly object[]
  readonly exit: number
}

const BEGIN = { type: 'system', subtype: 'init', session_id: 'stand-in', model: 'stand-in' }
const USAGE = { input_tokens: 1, output_tokens: 1 }

/** A session that ends with this text. */
export function succeeds(words: string, before: readonly object[] = []): Session {
  return { text: words, events: [BEGIN, ...before, says(words), result(words, false)], exit: 0 }
}

/** A session that fails with this text from the agent itself. */
export function fails(words: string, status?: number): Session {
  const end = {
    ...result(words, true),
    ...(status === undefined ? {} : { api_error_status: status }),
  }
  return { text: words, events: [BEGIN, says(words), end], exit: 1 }
}

/** A session that fails with a message of the CLI, not of the model. */
export function refuses(words: string): Session {
  return {
    text: words,
    events: [BEGIN, says(words, '<synthetic>'), result(words, true)],
    exit: 1,
  }
}

export function limitEvent(info: object): object {
  return { type: 'rate_limit_event', rate_limit_info: info, session_id: 'stand-in' }
}

export function promptEvent(words: string): object {
  return {
    type: 'user',
    message: { role: 'user', content: words },
    parent_tool_use_id: null,
    session_id: 'stand-in',
  }
}

/** The agent reads a file: the tool call and its result. */
export function readEvents(path: string, content: string): object[] {
  const id = 'toolu_1'
  return [
    message('assistant', [{ type: 'tool_use', id, name: 'Read', input: { file_path: path } }]),
    message('user', [{ type: 'tool_result', tool_use_id: id, content }]),
  ]
}

function says(words: string, model = 'stand-in'): object {
  return message('assistant', [{ type: 'text', text: words }], model)
}

function message(role: 'assistant' | 'user', content: readonly object[], model = 'stand-in') {
  const own =
    role === 'assistant' ? { id: `msg_${model}`, type: 'message', model, usage: USAGE } : {}
  return {
    type: role,
    message: { ...own, role, content },
    parent_tool_use_id: null,
    session_id: 'stand-in',
  }
}

function result(words: string, isError: boolean): object {
  return {
    type: 'result',
    subtype: 'success',
    is_error: isError,
    result: words,
    num_turns: 1,
    duration_ms: 10,
    duration_api_ms: 10,
    total_cost_usd: 0,
    session_id: 'stand-in',
    usage: USAGE,
  }
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The answer of a scripted provider to one request. */
export interface ProviderTurn {
  readonly text?: string
  readonly tool?: { readonly name: string; readonly input: object }
  readonly error?: { readonly status: number; readonly body: object; readonly headers?: object }
  /** Sent unchanged, with status 200. */
  readonly verbatim?: { readonly type: string; readonly body: string }
}

/** Events as a stream, which may end anywhere. */
export function stream(events: readonly object[]): Required<Pick<ProviderTurn, 'verbatim'>> {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  return { verbatim: { type: 'text/event-stream', body } }
}

interface ProviderRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readonly<Record<string, unknown>>
}

/** A local server with the API of one provider. */
export interface ScriptedProvider extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly ProviderRequest[]
}

export type Render = (turn: ProviderTurn, number: number) => readonly object[]

export async function startProvider(
  render: Render,
  turns: readonly ProviderTurn[],
): Promise<ScriptedProvider> {
  const requests: ProviderRequest[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as ProviderRequest['body']
    requests.push({ path: request.url ?? '', headers: request.headers, body })
    const turn = turns[requests.length - 1]
    if (turn === undefined) return sendError(response, 410, { error: { message: 'used up' } })
    if (turn.error)
      return sendError(response, turn.error.status, turn.error.body, turn.error.headers)
    if (turn.verbatim) {
      response.writeHead(200, { 'content-type': turn.verbatim.type })
      return response.end(turn.verbatim.body)
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of render(turn, requests.length)) {
      response.write(`data: ${JSON.stringify(event)}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function sendError(response: ServerResponse, status: number, body: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}

/** The Responses API. */
export const openaiResponses: Render = ({ text, tool }, number) => {
  const response = { id: `resp_${number}`, created_at: 1, model: 'gpt' }
  const items = [
    ...(text === undefined ? [] : [message(text, number)]),
    ...(tool === undefined ? [] : [functionCall(tool, number)]),
  ]
  const output = items.flatMap(({ added, deltas, done }, index) => [
    { type: 'response.output_item.added', output_index: index, item: added },
    ...deltas.map((delta) => ({ ...delta, output_index: index })),
    { type: 'response.output_item.done', output_index: index, item: done },
  ])
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 40 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 120,
  }
  return [
    { type: 'response.created', response },
    ...output,
    { type: 'response.completed', response: { ...response, usage } },
  ]
}

function message(text: string, number: number) {
  const item = { type: 'message', id: `msg_${number}`, role: 'assistant', status: 'completed' }
  return {
    added: { ...item, content: [] },
    deltas: [
      { type: 'response.output_text.delta', item_id: item.id, content_index: 0, delta: text },
    ] as object[],
    done: { ...item, content: [{ type: 'output_text', text, annotations: [] }] },
  }
}

function functionCall({ name, input }: { name: string; input: object }, number: number) {
  const json = JSON.stringify(input)
  const item = { type: 'function_call', id: `fc_${number}`, call_id: `call_${number}`, name }
  return {
    added: { ...item, arguments: '' },
    deltas: [
      { type: 'response.function_call_arguments.delta', item_id: item.id, delta: json },
    ] as object[],
    done: { ...item, arguments: json, status: 'completed' },
  }
}

/** Chat completions, as most compatible services have them. */
export const chatCompletions: Render = ({ text, tool }, number) => {
  const chunk = (delta: object, finish: string | null = null) => ({
    id: `chat_${number}`,
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
  const calls =
    tool === undefined
      ? []
      : [
          {
            index: 0,
            id: `call_${number}`,
            type: 'function',
            function: { name: tool.name, arguments: JSON.stringify(tool.input) },
          },
        ]
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
  return [
    ...(text === undefined ? [] : [chunk({ role: 'assistant', content: text })]),
    ...(tool === undefined ? [] : [chunk({ role: 'assistant', tool_calls: calls })]),
    { ...chunk({}, tool === undefined ? 'stop' : 'tool_calls'), usage },
  ]
}

/** The Messages API. */
export const anthropicMessages: Render = ({ text, tool }, number) => {
  const blocks = [
    ...(text === undefined ? [] : [{ start: { type: 'text', text: '' }, delta: textDelta(text) }]),
    ...(tool === undefined ? [] : [toolUse(tool, number)]),
  ]
  const usage = { input_tokens: 100, output_tokens: 20 }
  const head = { id: `msg_${number}`, type: 'message', role: 'assistant', model: 'm' }
  return [
    { type: 'message_start', message: { ...head, content: [], stop_reason: null, usage } },
    ...blocks.flatMap(({ start, delta }, index) => [
      { type: 'content_block_start', index, content_block: start },
      { type: 'content_block_delta', index, delta },
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: tool === undefined ? 'end_turn' : 'tool_use', stop_sequence: null },
      usage,
    },
    { type: 'message_stop' },
  ]
}

function textDelta(text: string): object {
  return { type: 'text_delta', text }
}

function toolUse({ name, input }: { name: string; input: object }, number: number) {
  const start = { type: 'tool_use', id: `toolu_${number}`, name, input: {} }
  return { start, delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) } }
}

/** Gemini. */
export const gemini: Render = ({ text, tool }) => {
  const parts = [
    ...(text === undefined ? [] : [{ text }]),
    ...(tool === undefined
      ? []
      : [{ functionCall: { name: tool.name, args: tool.input }, thoughtSignature: 'signed' }]),
  ]
  return [
    {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata: {
        promptTokenCount: 100,
        cachedContentTokenCount: 40,
        candidatesTokenCount: 20,
        totalTokenCount: 120,
      },
    },
  ]
}

import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { environment, FORKHESTRA, isAlive } from './forkhestra.ts'

interface Options {
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The folder in which the server is started; the project by default. */
  readonly from?: string
  /** Protocol version; older ones begin with `initialize`. */
  readonly era?: 'legacy' | { readonly pin: string }
}

export interface Message {
  readonly from: string
  readonly kind: string
  readonly body?: string
  readonly output?: string
  readonly attempt?: number
}

/** The answer of any tool, as far as tests need it. */
export interface Answer {
  readonly status?: string
  readonly name?: string
  readonly started?: readonly string[]
  readonly senders?: readonly { readonly name: string; readonly status: string }[]
  readonly messages: readonly Message[]
  readonly more?: number
}

/** A generic MCP client that is connected to the real server. */
export class McpClient implements AsyncDisposable {
  readonly #transport: StdioClientTransport
  readonly client: Client

  private constructor(cwd: string, { args = [], env = {}, from = cwd, era = 'legacy' }: Options) {
    this.#transport = new StdioClientTransport({
      command: FORKHESTRA,
      args: ['mcp', ...args],
      cwd: from,
      env: environment({ cwd, env }),
    })
    this.client = new Client({ name: 'stock', version: '1' }, { versionNegotiation: { mode: era } })
  }

  static async start(cwd: string, options: Options = {}): Promise<McpClient> {
    const started = new McpClient(cwd, options)
    await started.client.connect(started.#transport)
    return started
  }

  get pid(): number {
    return this.#transport.pid!
  }

  /** The text of an answer; that of a refused call begins with `REFUSED`. */
  async call(name: string, input: object = {}, signal?: AbortSignal): Promise<string> {
    const request = { name, arguments: { ...input } }
    const options = signal === undefined ? {} : { signal }
    const { isError, content } = await this.client.callTool(request, options)
    const [first] = content
    const text = first?.type === 'text' ? first.text : `no text: ${JSON.stringify(content)}`
    return isError === true ? `REFUSED ${text}` : text
  }

  async ask(name: string, input: object = {}): Promise<Answer> {
    return JSON.parse(await this.call(name, input)) as Answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = this.#transport
    await this.client.close()
    while (pid != null && isAlive(pid)) await Bun.sleep(5)
  }
}

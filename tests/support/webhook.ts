/** What a webhook got. */
interface Received {
  readonly path: string
  readonly authorization: string | null
  readonly body: Record<string, unknown>
}

/** Webhooks on this machine; the first part of the path says what happens to a message. */
export class Webhooks implements AsyncDisposable {
  readonly received: Received[] = []
  readonly #server

  constructor() {
    this.#server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname: path } = new URL(request.url)
        const body = (await request.json()) as Record<string, unknown>
        const authorization = request.headers.get('authorization')
        this.received.push({ path, authorization, body })
        if (path.startsWith('/broken')) return new Response('no', { status: 500 })
        if (path.startsWith('/hangs')) return new Promise<Response>(() => undefined)
        if (path.startsWith('/moved')) return Response.redirect(this.url('elsewhere'), 307)
        return new Response('ok')
      },
    })
  }

  get host(): string {
    return `127.0.0.1:${this.#server.port}`
  }

  url(path: string): string {
    return `http://${this.host}/${path}`
  }

  /** The messages to a path, oldest first. */
  sentTo(path: string): Record<string, unknown>[] {
    return this.received.filter((each) => each.path === `/${path}`).map(({ body }) => body)
  }

  /** The same, without repetitions: on a busy machine, an answer may be too late. */
  messagesTo(path: string): Record<string, unknown>[] {
    const sent = this.sentTo(path).map((body) => JSON.stringify(body))
    return [...new Set(sent)].map((body) => JSON.parse(body) as Record<string, unknown>)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true)
  }
}

import { BrokenAnswer } from './failure.ts'

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * The runtime gives up after six minutes without a byte. A model may think for longer, and whoever asks
 * again pays again: how long silence may last, the run decides.
 */
export function makePatientFetch(inner: Fetch = fetch): Fetch {
  const patience: RequestInit = { timeout: false } as RequestInit
  return async (input, init) => {
    const response = await inner(input, { ...init, ...patience })
    if (response.ok && isPage(response)) throw await pageInstead(response)
    return response
  }
}

/** Networks that want somebody to log in answer in place of everybody. */
function isPage({ headers }: Response): boolean {
  return /^text\/html\b/i.test(headers.get('content-type') ?? '')
}

async function pageInstead(response: Response): Promise<BrokenAnswer> {
  await response.body?.cancel()
  const { origin } = new URL(response.url)
  return new BrokenAnswer(`${origin} answered with a web page, as no model does`)
}

import { errorCode } from '../../base/errors.ts'
import { firstCause } from '../../base/first-cause.ts'

/** How long to wait before each try. All tries together take at most 8 s. */
const PAUSES_MS = [0, 500, 1500]
const TRY_MS = 2000

/** Sends JSON to a webhook, and returns why it failed. Redirects are not followed: they could lead anywhere. */
export async function post(
  url: URL,
  body: object,
  stop: AbortSignal,
  tryMs = TRY_MS,
): Promise<string | undefined> {
  let problem: string | undefined
  for (const late of PAUSES_MS) {
    await firstCause({ late, stop })
    if (stop.aborted) break
    problem = await tryOnce(url, body, AbortSignal.any([stop, AbortSignal.timeout(tryMs)]))
    if (problem === undefined) return undefined
  }
  return stop.aborted ? 'the run was stopped' : `${problem}, in ${PAUSES_MS.length} attempts`
}

async function tryOnce(from: URL, body: object, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { username, password } = from
    const url = new URL(from)
    url.username = ''
    url.password = ''
    const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'forkhestra',
        ...(username + password === ''
          ? {}
          : { authorization: `Basic ${login.toString('base64')}` }),
      },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal,
    })
    await answer.body?.cancel()
    if (answer.ok) return undefined
    const isRedirect = answer.status >= 300 && answer.status < 400
    return `HTTP ${answer.status}${isRedirect ? ' (redirects are not followed)' : ''}`
  } catch (error) {
    // The message could contain the URL, which is a secret.
    if (error instanceof Error && error.name === 'TimeoutError') return 'no answer'
    return `cannot connect (${errorCode(error) ?? 'unknown error'})`
  }
}

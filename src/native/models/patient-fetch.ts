type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * The runtime gives up after six minutes without a byte. A model may think for longer, and whoever asks
 * again pays again: how long silence may last, the run decides.
 */
export function makePatientFetch(inner: Fetch = fetch): Fetch {
  const patience: RequestInit = { timeout: false } as RequestInit
  return (input, init) => inner(input, { ...init, ...patience })
}

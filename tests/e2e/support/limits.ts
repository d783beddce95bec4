/** Makes `claude` assume a subscription, so that it reports limits. */
export const SUBSCRIPTION = {
  ANTHROPIC_API_KEY: '',
  CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-fake-token-of-a-test',
  // The times in its words.
  TZ: 'UTC',
}

/** So many seconds from now, as the API counts: since 1970. */
export function inSeconds(seconds: number): number {
  return Math.ceil(Date.now() / 1000) + seconds
}

/** What the API says besides about the quota of a subscription. */
export function quotaHeaders(status: string, resetsAt: number, claim = 'five_hour') {
  return {
    'anthropic-ratelimit-unified-status': status,
    'anthropic-ratelimit-unified-reset': String(resetsAt),
    'anthropic-ratelimit-unified-representative-claim': claim,
  }
}

/** The answer where the quota is used up. */
export function limited(resetsAt: number, claim?: string) {
  const headers = quotaHeaders('rejected', resetsAt, claim)
  return { error: { status: 429, message: 'limit', headers } }
}

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Mask } from '../src/base/secrets/mask.ts'
import type { Figure } from './figure.ts'

const PROJECT = join(import.meta.dir, '..')
const CHUNK = 65_536
const BYTES = 64e6
const ROUNDS = 8
/** 125 MB/s: faster than any agent prints. */
const LIMIT = 8

// Made up, in the format of real secrets.
const VALUES = {
  ANTHROPIC_API_KEY: `sk-ant-api03-${'aB3dE5gH7jK9'.repeat(7)}`,
  GITHUB_TOKEN: 'ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5',
  DB_PASSWORD: 'hunter2-hunter/2+x',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
}

function filesIn(folder: string, end: string): string {
  return readdirSync(join(PROJECT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => readFileSync(join(PROJECT, folder, name), 'utf8'))
    .join('\n')
}

/** The processor time to search a gigabyte of agent output for secrets. */
export function measureMask(): Figure[] {
  const prose = filesIn('docs', '.md')
  const lines = prose.split('\n').map((text) => JSON.stringify({ type: 'assistant', text }))
  const kinds: readonly (readonly [name: string, text: string])[] = [
    ['Markdown', prose],
    ['source code', filesIn('src', '.ts')],
    ['lines of JSON', lines.join('\n')],
    ['base64', Buffer.from(prose).toString('base64').replaceAll(/.{76}/g, '$&\n')],
    ['hexadecimal numbers', Buffer.from(prose).toString('hex').replaceAll(/../g, '$& ')],
  ]
  return kinds.map(([name, text]) => ({
    group: 'mask',
    name: `CPU, ${name}`,
    measured: Math.min(...Array.from({ length: ROUNDS }, () => secondsFor(Buffer.from(text)))),
    unit: 's/GB',
    limit: LIMIT,
  }))
}

function secondsFor(text: Uint8Array): number {
  const stream = new Mask(VALUES).stream()
  const before = process.cpuUsage().user
  let done = 0
  for (; done < BYTES; done += text.length) {
    for (let at = 0; at < text.length; at += CHUNK) stream.push(text.subarray(at, at + CHUNK))
  }
  stream.end()
  return (process.cpuUsage().user - before) / 1e6 / (done / 1e9)
}

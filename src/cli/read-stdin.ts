/** Reads stdin to its end, but never more than `limit` bytes: it may be endless. */
export async function readStdin(limit: number, tooLong: (bytes: number) => Error): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of Bun.stdin.stream()) {
    size += chunk.length
    if (size > limit) throw tooLong(size)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

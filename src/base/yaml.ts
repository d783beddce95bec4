const LINEAR_SEARCH_LINES = 200

/** How many lines parse before the first bad one: the parser does not report where it stopped. */
export function goodLines(yaml: string): number {
  const lines = yaml.split('\n')
  const isGood = (count: number) => isYaml(lines.slice(0, count).join('\n'))
  let good = 0
  let bad = lines.length
  // Bisecting alone could stop inside a valid list that spans several lines.
  while (bad - good > LINEAR_SEARCH_LINES) {
    const middle = (good + bad) >> 1
    if (isGood(middle)) good = middle
    else bad = middle
  }
  for (let count = bad - 1; count > good; count -= 1) if (isGood(count)) return count
  return good
}

function isYaml(text: string): boolean {
  try {
    Bun.YAML.parse(text)
    return true
  } catch {
    return false
  }
}

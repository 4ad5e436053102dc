/** Returns where the page of a tag stands below the address of the service. */
export const referencePath = (tag: string): string => `/docs/${tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`

/** RFC 3986 §3.2.2: an IPv6 address in brackets, or its colons would begin a port. */
export const hostInUrl = (host: string): string => (host.includes(":") ? `[${host}]` : host)

/** The system calls by way of jnr-ffi. */
package dev.polis.posix.jnr;

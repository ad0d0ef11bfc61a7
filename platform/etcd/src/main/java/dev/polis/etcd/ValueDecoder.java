package dev.polis.etcd;

import java.util.Optional;

/**
 * Decodes the bytes of a key.
 *
 * @param <T> the type of the result
 */
@FunctionalInterface
public interface ValueDecoder<T> {

  /**
   * Decodes one state of one key. Called by the thread that reads the value.
   *
   * @param key key within the client's namespace
   * @param stored the stored bytes, empty if the key was deleted
   * @return the value, never null
   * @throws Exception if the bytes are invalid; the reader gets it once, wrapped, and continues
   */
  T decode(String key, Optional<byte[]> stored) throws Exception;
}

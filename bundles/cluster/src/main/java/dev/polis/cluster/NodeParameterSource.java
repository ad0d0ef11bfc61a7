package dev.polis.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/**
 * One place where node parameters may be found.
 *
 * @param name what people call the place
 * @param file where it is
 * @param form how the parameters are written there
 * @param required whether it is an error that nothing is there
 */
record NodeParameterSource(String name, Path file, Form form, boolean required) {

  /** How parameters are written down. */
  enum Form {
    BINARY,
    JSON;

    /** Chooses by the file's name: {@code .json} is JSON, all else is binary. */
    static Form of(Path file) {
      return file.getFileName().toString().endsWith(".json") ? JSON : BINARY;
    }
  }

  /** Bytes of parameters, and where they came from. */
  record Found(NodeParameterSource source, byte[] content) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Found that
          && source.equals(that.source)
          && Arrays.equals(content, that.content);
    }

    @Override
    public int hashCode() {
      return source.hashCode();
    }

    @Override
    public String toString() {
      return source.name() + ": " + content.length + " bytes";
    }
  }

  /**
   * Reads the place.
   *
   * @return the content; empty if there is nothing
   * @throws NodeParametersException if something is there that cannot be read, or a required file
   *     is missing
   */
  Optional<Found> read() {
    try {
      return Optional.of(new Found(this, Files.readAllBytes(file)));
    } catch (NoSuchFileException e) {
      if (required) {
        throw new NodeParametersException(
            "node parameters %s (%s) do not exist; name a file that does".formatted(file, name), e);
      }
      return Optional.empty();
    } catch (IOException e) {
      throw new NodeParametersException(
          "node parameters %s (%s) cannot be read: %s".formatted(file, name, e), e);
    }
  }

  @Override
  public String toString() {
    return name + " (" + file + ")";
  }
}

package dev.polis.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Optional;

/**
 * Reads one place of node parameters.
 *
 * @param name the name of the place for people
 * @param file its path
 * @param form its format
 * @param required true if an absent file is an error
 */
record NodeParameterSource(String name, Path file, Form form, boolean required) {

  /** Lists the formats of parameters. */
  enum Form {
    BINARY,
    JSON;

    /** Returns the format by the file's name: {@code .json} is JSON, all others are binary. */
    static Form of(Path file) {
      return file.getFileName().toString().endsWith(".json") ? JSON : BINARY;
    }
  }

  /** Holds the bytes of parameters and their source. */
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
   * @throws NodeParametersException if the content is unreadable, or a required file is missing
   */
  Optional<Found> read() {
    try {
      return Optional.of(new Found(this, Files.readAllBytes(file)));
    } catch (NoSuchFileException e) {
      if (required) {
        throw new NodeParametersException(
            "node parameters %s (%s) do not exist; name an existing file".formatted(file, name), e);
      }
      return Optional.empty();
    } catch (IOException e) {
      throw new NodeParametersException(
          "the node cannot read the node parameters %s (%s): %s".formatted(file, name, e), e);
    }
  }

  @Override
  public String toString() {
    return name + " (" + file + ")";
  }
}

package dev.polis.ctl.kube;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.debug.ListImagesRequest;
import dev.polis.wire.images.LoadRequest;
import dev.polis.wire.images.LoadResponse;
import io.grpc.StatusException;
import io.grpc.stub.BlockingClientCall;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Groups the commands for the container images of a node. */
@Command(name = "image", description = "Loads container images into a node, and lists them.")
@Subcommands({ImageCommand.LoadCommand.class, ImageCommand.ListCommand.class})
public final class ImageCommand {

  private static final String STANDARD_INPUT = "-";

  /** Images of an archive. */
  @Command(
      name = "load",
      description =
          "Loads the images of an archive into a node: a tar file with an OCI layout, or of"
              + " docker save.")
  static final class LoadCommand extends SessionCommand {
    @Parameters(paramLabel = "FILE", description = "the archive; - for standard input")
    String file;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      try (InputStream archive = open()) {
        LoadResponse loaded = session.stream(() -> send(session.images().load(), archive));
        out().println("loaded " + String.join(", ", loaded.getNamesList()));
        return ExitCode.OK;
      } catch (IOException e) {
        throw new CtlException(file + " cannot be read: " + e.getMessage(), e);
      }
    }

    private InputStream open() throws IOException {
      if (file.equals(STANDARD_INPUT)) {
        return System.in;
      }
      try {
        return Files.newInputStream(Path.of(file));
      } catch (NoSuchFileException e) {
        throw new CtlException(
            ExitCode.NOT_FOUND, file + " does not exist; name an archive of images", e);
      }
    }

    private LoadResponse send(
        BlockingClientCall<LoadRequest, LoadResponse> call, InputStream archive)
        throws StatusException, InterruptedException {
      try {
        CtlFiles.upload(
            archive, part -> call.write(LoadRequest.newBuilder().setDataPart(part).build()));
      } catch (IOException e) {
        call.cancel("the archive cannot be read", e);
        throw new CtlException(file + " cannot be read: " + e.getMessage(), e);
      }
      call.halfClose();
      return call.read();
    }
  }

  /** All images. */
  @Command(name = "list", description = "Lists the images of a node.")
  static final class ListCommand extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      ListImagesRequest request = ListImagesRequest.getDefaultInstance();
      return print(
          new Rows<String>()
              .column("NAME", "name", name -> name)
              .document(session.call(() -> session.debug().listImages(request)).getNamesList()));
    }
  }
}

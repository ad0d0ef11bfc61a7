package dev.polis.ctl.kube;

import dev.polis.ctl.node.NodeRows;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.pki.UserCredentials;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Sets kubectl up for this cluster. */
@Command(
    name = "kubeconfig",
    description = {
      "Sets kubectl up for this cluster: adds a context to the kubeconfig file, and chooses it.",
      "Each controller also has its own context, NAME-XXXXXXXX after its id. If the selected"
          + " controller is gone, run the command again, or select another context."
    })
public final class KubeconfigCommand extends SessionCommand {

  private static final String STANDARD_OUTPUT = "-";

  /** A controller that does not answer within this time is not the one to begin with. */
  private static final Duration PROBE = Duration.ofSeconds(3);

  @Option(
      names = "--to",
      paramLabel = "FILE",
      description =
          "the file, or - to print it (default: the first of $KUBECONFIG, or ~/.kube/config)")
  String to = "";

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "name of the context and of its user (default: ${DEFAULT-VALUE})")
  String name = "polis";

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description = "port of the controllers for Kubernetes clients (default: ${DEFAULT-VALUE})")
  int port = KubeEndpoint.PORT;

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    List<KubeEndpoint> controllers = KubeEndpoint.of(NodeRows.fetch(session, ""), port);
    if (controllers.isEmpty()) {
      throw KubeEndpoint.none(options());
    }
    UserCredentials credentials = session.credentials();
    List<KubeEndpoint> ordered = answeringFirst(controllers, credentials);
    boolean toFile = !to.equals(STANDARD_OUTPUT);
    Path file = toFile ? file() : Path.of(to);
    Kubeconfig config =
        toFile ? Kubeconfig.parse(present(file), file.toString()) : Kubeconfig.empty();
    config.merge(name, credentials.ca(), ordered, plugin(session.target()));
    if (toFile) {
      write(file, config);
      out()
          .printf(
              "%s has the context %s now, at %s. Next: kubectl --context=%s get nodes%n",
              file, name, ordered.getFirst().uri(), name);
    } else {
      out().print(config.text());
      out().flush();
    }
    return ExitCode.OK;
  }

  /** Puts the first controller that answers first. */
  private List<KubeEndpoint> answeringFirst(
      List<KubeEndpoint> controllers, UserCredentials credentials) throws InterruptedException {
    List<String> failures = new ArrayList<>();
    for (KubeEndpoint each : controllers) {
      try (KubeApi api = new KubeApi(each, credentials, PROBE)) {
        api.find("/version");
        List<KubeEndpoint> ordered = new ArrayList<>(controllers);
        ordered.remove(each);
        ordered.addFirst(each);
        return ordered;
      } catch (CtlException away) {
        failures.add(away.getMessage());
      }
    }
    remark("no controller answers yet, the first one is chosen: " + String.join("; ", failures));
    return controllers;
  }

  /** Returns the command that kubectl runs for credentials, wherever it is called. */
  private List<String> plugin(CtlTarget target) {
    List<String> command = new ArrayList<>(CtlName.absolute());
    if (target.state().isPresent()) {
      command.addAll(List.of("--state", target.state().get().toAbsolutePath().toString()));
    } else {
      command.addAll(List.of("--config", options().configFolder().toAbsolutePath().toString()));
      if (options().endpoint != null) {
        command.addAll(List.of("--endpoint", options().endpoint));
      }
      if (Files.exists(options().configFolder().resolve("contexts.yaml"))) {
        command.addAll(List.of("--context", target.name()));
      }
    }
    command.add(KubeCredentialsCommand.NAME);
    return command;
  }

  private Path file() {
    if (!to.isEmpty()) {
      return followed(Path.of(to));
    }
    Optional<String> named =
        Arrays.stream(System.getenv().getOrDefault("KUBECONFIG", "").split(":"))
            .filter(each -> !each.isEmpty())
            .findFirst();
    return followed(
        named
            .map(Path::of)
            .orElseGet(() -> Path.of(System.getProperty("user.home"), ".kube", "config")));
  }

  /** Returns the file behind a link, so that the link stays one. */
  private static Path followed(Path file) {
    try {
      return Files.exists(file) ? file.toRealPath() : file.toAbsolutePath();
    } catch (IOException e) {
      throw new CtlException(file + " cannot be read: " + e, e);
    }
  }

  private static String present(Path file) {
    return Files.exists(file) ? CtlFiles.read(file, "repair it, or give --to FILE") : "";
  }

  private static void write(Path file, Kubeconfig config) {
    try {
      Files.createDirectories(file.getParent());
    } catch (IOException e) {
      throw new CtlException(
          "%s cannot be made: %s; give --to FILE".formatted(file.getParent(), e), e);
    }
    CtlFiles.write(file, config.text().getBytes(StandardCharsets.UTF_8));
  }
}

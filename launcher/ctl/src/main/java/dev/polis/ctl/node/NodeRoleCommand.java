package dev.polis.ctl.node;

import dev.polis.api.roles.RoleName;
import dev.polis.base.config.DidYouMean;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Place;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.Subcommands;
import dev.polis.wire.api.Node;
import dev.polis.wire.api.UpdateNodeRolesRequest;
import dev.polis.wire.plugins.GraphRequest;
import dev.polis.wire.roles.RoleChange;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Changes the roles of a node. */
@Command(name = "role", description = "Gives roles to a node and takes them away.")
@Subcommands({NodeRoleCommand.AddCommand.class, NodeRoleCommand.RemoveCommand.class})
final class NodeRoleCommand {

  /** Adds the change of one role to a request. */
  static void change(UpdateNodeRolesRequest.Builder request, RoleName name, boolean wanted) {
    if (name.equals(RoleName.CONSENSUS_MEMBER)) {
      request.setConsensusMember(wanted);
    } else if (name.equals(RoleName.KUBERNETES_CONTROLLER)) {
      request.setKubernetesController(wanted);
    } else if (name.equals(RoleName.KUBERNETES_WORKER)) {
      request.setKubernetesWorker(wanted);
    } else {
      request.addOthers(RoleChange.newBuilder().setName(name.text()).setWanted(wanted));
    }
  }

  /** Holds the common part of both commands. */
  abstract static class Change extends CtlCommand {
    /** Begins the capability of a bundle that brings a role. */
    private static final String OF_ROLE = "role ";

    @Parameters(index = "0", paramLabel = "NODE", description = "the node's id")
    String node;

    @Parameters(
        index = "1..*",
        arity = "1..*",
        paramLabel = "ROLE",
        description = "a role's name, such as KubernetesWorker or one that a bundle provides")
    List<String> roles;

    abstract boolean wanted();

    @Override
    protected ExitCode run() throws InterruptedException {
      UpdateNodeRolesRequest request = request();
      try (Session session = Session.open(options())) {
        NodeCommand.chosen(session, List.of(node), "");
        session.call(() -> session.management().updateNodeRoles(request));
        List<Node> changed = NodeCommand.chosen(session, List.of(node), "");
        if (wanted()) {
          warn(session, changed.getFirst());
        }
        return print(NodeRows.ALL.document(changed));
      }
    }

    /** Warns of the roles that no bundle of the node brings: they wait there until one does. */
    private void warn(Session session, Node changed) throws InterruptedException {
      if (changed.getStatus().getExternalAddress().isEmpty()) {
        return;
      }
      Set<String> brought = new TreeSet<>();
      try {
        session
            .call(() -> session.plugins(Place.of(changed)).graph(GraphRequest.getDefaultInstance()))
            .getBundlesList()
            .forEach(bundle -> brought.addAll(bundle.getProvidesList()));
      } catch (CtlException unknown) {
        return; // The roles are given, and health names those that no bundle brings.
      }
      Set<String> known = new TreeSet<>(Set.of(RoleName.CONSENSUS_MEMBER.text()));
      brought.stream()
          .filter(each -> each.startsWith(OF_ROLE))
          .forEach(each -> known.add(each.substring(OF_ROLE.length())));
      for (String given : roles) {
        if (!known.contains(given)) {
          remark(
              "the role waits, because no bundle of %s provides \"%s\"%s; a plugin that the cluster wants for it comes by itself, see \"plugin diff\"; to remove the role: %s"
                  .formatted(
                      node,
                      given,
                      DidYouMean.among(given, known),
                      options().command("node role remove %s %s".formatted(node, given))));
        }
      }
    }

    private UpdateNodeRolesRequest request() {
      Set<RoleName> names = new LinkedHashSet<>();
      for (String text : roles) {
        RoleName.problemOf(text)
            .ifPresent(
                problem -> {
                  throw new CtlException(ExitCode.USAGE, "\"%s\" %s".formatted(text, problem));
                });
        names.add(new RoleName(text));
      }
      UpdateNodeRolesRequest.Builder request = UpdateNodeRolesRequest.newBuilder().setId(node);
      names.forEach(name -> change(request, name, wanted()));
      return request.build();
    }
  }

  /** Gives roles. */
  @Command(name = "add", description = "Gives roles to a node; those it holds already stay.")
  static final class AddCommand extends Change {
    @Override
    boolean wanted() {
      return true;
    }
  }

  /** Takes roles away. */
  @Command(
      name = "remove",
      description = "Removes roles from a node; it skips roles that the node does not have.")
  static final class RemoveCommand extends Change {
    @Override
    boolean wanted() {
      return false;
    }
  }
}

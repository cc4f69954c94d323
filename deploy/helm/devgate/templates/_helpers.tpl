{{- define "devgate.name" -}}
{{- if contains "devgate" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-devgate" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- /* The account of pods with an agent. */}}
{{- define "devgate.agent" -}}
{{ include "devgate.name" . }}-agent
{{- end }}

{{- /* What is a group's has its name behind that of all. */}}
{{- define "devgate.workload" -}}
{{ include "devgate.name" . }}{{ with .Group }}-{{ . }}{{ end }}
{{- end }}

{{- /* Two devgates on one node would wait for each other. */}}
{{- define "devgate.apart" -}}
{{- $groups := . }}
{{- range $name, $one := $groups }}
{{- range $after, $other := $groups }}
{{- if lt $name $after }}
{{- $apart := false }}
{{- range $label, $value := $one.nodeSelector }}
{{- if and (hasKey $other.nodeSelector $label) (ne $value (get $other.nodeSelector $label)) }}
{{- $apart = true }}
{{- end }}
{{- end }}
{{- if not $apart }}
{{- fail (printf "groups.%s, groups.%s: one node could be in both, where one devgate would wait for the other; give both a label in nodeSelector with different values" $name $after) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "devgate.selector" -}}
app.kubernetes.io/name: {{ if .Values.cleanup }}devgate-cleanup{{ else }}devgate{{ end }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- with .Group }}
devgate.dev/group: {{ . | quote }}
{{- end }}
{{- end }}

{{- define "devgate.labels" -}}
{{ include "devgate.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "devgate.policy" -}}
{{- $policy := .Values.policy | default dict }}
{{- $name := printf "%s-policy" (include "devgate.workload" .) }}
{{- if eq ($policy.rollout | default "live") "pods" }}
{{- if $policy.existingConfigMap }}
{{- fail "policy.rollout: pods is for policy.files; name another policy.existingConfigMap, and pods roll out as well" }}
{{- end }}
{{- $name = printf "%s-%s" $name ($policy.files | toJson | sha256sum | trunc 10) }}
{{- end }}
{{- $policy.existingConfigMap | default $name }}
{{- end }}

{{- define "devgate.image" -}}
{{- with .Values.image -}}
{{- $name := include "devgate.mirrored" (list $ .repository) }}
{{- if .digest }}{{ $name }}@{{ .digest }}{{ else }}{{ $name }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- /* A text with the mirror in place of where nothing is. */}}
{{- define "devgate.mirrored" -}}
{{- $registry := (index . 0).Values.registry }}
{{- if $registry }}{{ index . 1 | replace "registry.example.com/" (printf "%s/" $registry) }}{{ else }}{{ index . 1 }}{{ end }}
{{- end }}

{{- /* Whether a policy is given. */}}
{{- define "devgate.served" -}}
{{- $policy := .Values.policy | default dict }}
{{- if or $policy.existingConfigMap .Values.groups (without (values ($policy.files | default dict)) nil "") }}yes{{ end }}
{{- end }}

{{- /* Whether any of its pods has an overlay. */}}
{{- define "devgate.any" -}}
{{- $name := index . 1 }}
{{- $on := list (get ((index . 0).Values.overlays | default dict) $name) }}
{{- range (index . 0).Values.groups }}
{{- $on = append $on (get (.overlays | default dict) $name) }}
{{- end }}
{{- if has true $on }}yes{{ end }}
{{- end }}

{{- /* Whether any of its pods has an agent. */}}
{{- define "devgate.agents" -}}
{{- range list "dra" "events" "nodeCondition" }}{{ include "devgate.any" (list $ .) }}{{ end }}
{{- end }}

{{- define "devgate.kubelet" -}}
{{- $of := ternary (printf "groups.%s." .Group) "" (ne (.Group | default "") "") }}
{{- if .Values.kubelet.podResourcesDir }}
{{- fail (printf "%skubelet.podResourcesDir: is kubelet.dir now, the directory that it is in" $of) }}
{{- end }}
{{- $dir := .Values.kubelet.dir | trimSuffix "/" }}
{{- if has (base $dir) (list "pod-resources" "device-plugins" "plugins" "plugins_registry" "pods") }}
{{- fail (printf "%skubelet.dir: %s is in the kubelet's directory; give the directory itself, %s" $of $dir (dir $dir)) }}
{{- end }}
{{- $dir }}
{{- end }}

{{- define "devgate.selinux" -}}
{{- range $key, $value := .Values.seLinuxOptions }}
{{- if $value }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end }}

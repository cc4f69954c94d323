{{- define "devgate.name" -}}
{{- if contains "devgate" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-devgate" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
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
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}
